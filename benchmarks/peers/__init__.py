"""What a user would pick instead of Turnkeeper, each as a small streaming chat server before the same llama-server."""

from benchmarks.peers.catalogue import known_peers
from benchmarks.peers.peer import Peer, PeerNotInstalled

__all__ = ["Peer", "PeerNotInstalled", "known_peers"]
