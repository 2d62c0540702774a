// Send something once, with an API key, however often it has to be tried.
export async function postOnce(url, body, apiKey) {
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    "Content-Type": "application/json",
    Accept: "application/json",
    "Idempotency-Key": crypto.randomUUID(), // the same for each try: what was begun is not begun twice
  };
  for (let waitMs = 1000; ; waitMs *= 2) {
    try {
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.detail);
      return answer;
    } catch (error) {
      // fetch throws a TypeError when no answer comes.
      if (!(error instanceof TypeError) || waitMs > 8000) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}
