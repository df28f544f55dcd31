import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export interface Sent {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** One request on a kept connection; resolves with the body. @throws for every status but 200 and 201 */
export function send(url: string, method: string, { headers, body }: Sent): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method, agent, headers: { ...headers, 'content-length': body.length } },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.once('error', reject);
        answer.once('end', () => {
          const isOk = answer.statusCode === 200 || answer.statusCode === 201;
          if (isOk) resolve(Buffer.concat(chunks));
          else reject(new Error(`${method} ${url}: ${answer.statusCode} ${String(Buffer.concat(chunks))}`));
        });
      },
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

/** Runs `work` `total` times with so many in flight; operations a second. */
export async function perSecond(
  total: number,
  inFlight: number,
  work: (i: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < total) await work(next++);
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, lane));
  return total / ((performance.now() - started) / 1000);
}
