"""API keys in a file: watched by the service, changed by the command line (K3)."""

from service.adapters.key_file.editor import KeyFileEditor
from service.adapters.key_file.reading import others_rights
from service.adapters.key_file.watched import KeyFile

__all__ = ["KeyFile", "KeyFileEditor", "others_rights"]
