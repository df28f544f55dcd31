import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const MOST_REFUSALS = 50;
const PAUSE_MS = 200;

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Sends requests on persistent connections, because most of a test is requests. */
export class HttpClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 16 });

  private sendOnce(url: string, { method, path, headers = {}, body }: HttpRequest): Promise<HttpAnswer> {
    const isJson = body !== undefined && !(body instanceof Buffer);
    const bytes = isJson ? Buffer.from(JSON.stringify(body)) : body;
    const length = bytes ? { 'content-length': String(bytes.length) } : {};
    const type = isJson ? { 'content-type': 'application/json' } : {};
    const options = { method, agent: this.agent, headers: { ...type, ...length, ...headers } };
    return new Promise((resolve, reject) => {
      const outgoing = request(`${url}${path}`, options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.once('error', reject);
        answer.once('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
        );
      });
      outgoing.once('error', reject);
      outgoing.end(bytes);
    });
  }

  /** Repeats a request that an overloaded machine refuses with 503, which has had no effect. */
  async send(url: string, request: HttpRequest): Promise<HttpAnswer> {
    for (let refusals = 0; ; refusals++) {
      const answer = await this.sendOnce(url, request);
      if (answer.status !== 503 || refusals === MOST_REFUSALS) return answer;
      await pause(PAUSE_MS);
    }
  }

  close(): void {
    this.agent.destroy();
  }
}
