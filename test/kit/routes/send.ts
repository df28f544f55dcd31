import { Agent, request } from 'node:http';
import type { Proof } from './credentials.js';
import type { Spelling } from './forms.js';
import type { Example } from './route-table.js';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** Closes the persistent connections. */
export const hangUp = (): void => agent.destroy();

/** Sends a request with its exact path: nothing normalizes `//` or `%61`. */
export function send(
  url: string,
  { method, path }: Spelling,
  example: Example,
  proof: Proof,
): Promise<Answer> {
  const query = [example.query, proof.query].filter(Boolean).join('&');
  const { hostname, port } = new URL(url);
  const { body: content = '' } = example;
  const body = typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content);
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...example.headers,
    ...proof.headers,
  };
  const target = query ? `${path}?${query}` : path;
  return new Promise((resolve, reject) => {
    const sent = request({ agent, hostname, port, method, path: target, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
