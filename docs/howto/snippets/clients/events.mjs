// The events of fetch's responses, and where to go on when one breaks off.
export class Events {
  lastId = "0"; // that of the last record that was dealt with
  retryMs = 2000;

  async *of(response) {
    if (!response.ok) throw new Error((await response.json()).detail);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const blocks = (text + value).split("\n\n");
        text = blocks.pop(); // has not come whole
        for (const block of blocks) {
          const field = (name) => block.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1];
          this.retryMs = Number(field("retry") ?? this.retryMs);
          if (field("data") === undefined) continue;
          yield JSON.parse(field("data"));
          this.lastId = field("id") ?? this.lastId;
        }
      }
    } finally {
      reader.cancel().catch(() => {}); // when nobody wants the rest
    }
  }
}
