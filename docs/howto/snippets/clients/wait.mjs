// Send a message and wait for the whole turn.
export async function ask(url, content) {
  const session = await (await fetch(`${url}/sessions`, { method: "POST" })).json();
  const response = await fetch(`${url}/sessions/${session.id}/turns`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify({ content }),
  });
  const turn = await response.json();
  if (!response.ok) throw new Error(turn.detail);
  return turn;
}
