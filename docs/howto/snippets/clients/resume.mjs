// Follow a turn to its end, over broken connections and restarts; `show` gets each piece of the answer once.
import { Events } from "./events.mjs";

export async function follow(turnUrl, show) {
  const events = new Events();
  let shown = "";
  for (;;) {
    try {
      const response = await fetch(`${turnUrl}/events`, { headers: { "Last-Event-ID": events.lastId } });
      for await (const event of events.of(response)) {
        if (event.type === "content") {
          show(event.text);
          shown += event.text;
        } else if (event.type === "partial" || event.type === "assistant") {
          show(event.content.slice(shown.length)); // the whole text of the step
          shown = event.type === "partial" ? event.content : "";
        } else if (event.type === "attempt") {
          shown = ""; // what came of the step is void
        } else if (event.type === "turn_finished") {
          return event.outcome;
        }
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // what fetch throws when a connection breaks
    }
    await new Promise((resolve) => setTimeout(resolve, events.retryMs));
  }
}
