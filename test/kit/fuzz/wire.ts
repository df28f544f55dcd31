import { Agent, type IncomingMessage, request } from 'node:http';
import { exchange } from '../raw-http.js';
import type { FuzzRequest } from './request.js';

const ANSWER_WITHIN_MS = 180_000;

export interface FuzzAnswer {
  /** 0 when there was no answer. */
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Sends requests exactly as they are, including those that an HTTP client would refuse. */
export class Wire {
  private readonly agent = new Agent({ keepAlive: true });

  constructor(private readonly url: string) {}

  close(): void {
    this.agent.destroy();
  }

  async send(fuzz: FuzzRequest): Promise<FuzzAnswer> {
    const { host } = new URL(this.url);
    const length: [string, string][] =
      fuzz.body.length > 0 || fuzz.method !== 'GET' ? [['Content-Length', String(fuzz.body.length)]] : [];
    const headers = [['Host', host] as const, ...length, ...fuzz.headers];
    const { method, path } = fuzz;
    if (isFit(fuzz)) {
      try {
        return await this.ask({ method, path, headers: headers.flat() }, fuzz.body);
      } catch (error) {
        return { status: 0, headers: {}, body: String(error) };
      }
    }
    const lines = [...headers, ['Connection', 'close']]
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, 'latin1');
    return exchange(this.url, Buffer.concat([head, fuzz.body]));
  }

  private ask(
    what: { method: string; path: string; headers: readonly string[] },
    body: Buffer,
  ): Promise<FuzzAnswer> {
    const { hostname, port } = new URL(this.url);
    const options = { ...what, agent: this.agent, hostname, port, timeout: ANSWER_WITHIN_MS };
    return new Promise((resolve, reject) => {
      const sent = request(options, (answer) => void collect(answer).then(resolve, reject));
      sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
      sent.on('upgrade', ({ statusCode = 0, headers }, socket) => {
        socket.destroy();
        resolve({ status: statusCode, headers, body: '' });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

/** Whether an HTTP client would send it; others use a raw connection. */
const isFit = ({ path, headers }: FuzzRequest): boolean =>
  /^[\x21-\x7e]+$/.test(path) && headers.every(([, value]) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value));

async function collect(answer: IncomingMessage): Promise<FuzzAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks).toString() };
}

/** A shell command that repeats a request. */
export function curlOf({ method, path, headers, body }: FuzzRequest, url: string): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = headers.map(
    ([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`,
  );
  const encoded = body.toString('base64');
  const data = body.length > 0 ? ['--data-binary @-'] : [];
  const source = body.length > 0 ? `printf %s ${encoded.slice(0, 4000)} | base64 -d | ` : '';
  const rest = encoded.length > 4000 ? ` # the body goes on: ${body.length} bytes` : '';
  return `${source}curl -i --path-as-is -X ${method} ${[...parts, ...data].join(' ')} ${quoted(url + path)}${rest}`;
}
