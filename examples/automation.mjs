// Appends a line to today's journal, even with concurrent writers, and prints the search results for a word:
//   SYNC_URL=… TOKEN=pat_… WORKSPACE=… PASSWORD=… node examples/automation.mjs 'Bought apples' apple
const { SYNC_URL, TOKEN, WORKSPACE, PASSWORD } = process.env;
const [line, word] = process.argv.slice(2);
const headers = { authorization: `Bearer ${TOKEN}`, 'x-device-id': 'journal-script' };

async function call(method, path, body, expected = []) {
  const url = `${SYNC_URL}/api/v1/automation/workspaces/${WORKSPACE}${path}`;
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  if (answer.ok || expected.includes(answer.status)) return { ok: answer.ok, ...(await answer.json()) };
  throw new Error(`${method} ${path}: ${await answer.text()}`);
}

headers['x-key-session'] = (await call('POST', '/key-sessions', { password: PASSWORD })).keySession;
try {
  const path = `journal/${new Date().toISOString().slice(0, 10)}.md`;
  for (let isWritten = false; !isWritten;) {
    const note = await call('GET', `/notes/${path}`, undefined, [404]);
    const content = `${note.content ?? ''}- ${line}\n`;
    headers['if-match'] = `"${note.contentHash}"`; // 404, 409 and 412: another client was faster, so read again
    const [method, at] = note.ok ? ['PUT', `/notes/${path}`] : ['POST', '/notes'];
    isWritten = (await call(method, at, { path, content }, [404, 409, 412])).ok;
  }
  const { results } = await call('GET', `/search?q=${encodeURIComponent(word)}`);
  for (const { path, snippet } of results) console.log(`${path}: ${snippet}`);
} finally {
  await call('DELETE', '/key-sessions/current'); // the service discards the keys and the search index
}
