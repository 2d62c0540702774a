// Ask a person before a call runs: `isApproved` gets each call that waits, and gives true or false.
export async function ask(url, session, content, isApproved) {
  const turns = `${url}/sessions/${session}/turns`;
  let turn = await post(turns, { content });
  while (turn.state === "awaiting_approval") {
    const decisions = [];
    for (const call of turn.pending) {
      decisions.push({ call: call.call, digest: call.digest, approved: await isApproved(call) });
    }
    turn = await post(`${turns}/${turn.id}/decisions`, { decisions });
  }
  return turn;
}

async function post(url, body) {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}
