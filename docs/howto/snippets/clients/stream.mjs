// Send a message; `show` gets the answer piece by piece.
import { Events } from "./events.mjs";

export async function ask(url, content, show) {
  const made = await fetch(`${url}/sessions`, { method: "POST" });
  const session = await made.json();
  const response = await fetch(`${url}/sessions/${session.id}/turns`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ content }),
  });
  for await (const event of new Events().of(response)) {
    if (event.type === "content") show(event.text);
    if (event.type === "retrying") show("\n(That broke off. Once more:)\n");
    if (event.type === "turn_finished") return event.outcome;
  }
}
