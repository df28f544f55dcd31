import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { sha256 } from './workspace.js';

const PAUSE_MS = 20;

/** The results of a load. */
export interface Tally {
  /** Number of answers by status. */
  readonly statuses: Record<number, number>;
  /** Paths whose content was acknowledged. */
  readonly stored: string[];
  /** Number of refused connections. */
  refused: number;
  /** Paths whose connection broke: their uploads have no answer. */
  readonly broken: string[];
  /** Number of 429 and 503 answers without Retry-After. */
  withoutRetryAfter: number;
}

export interface LoadOptions {
  readonly url: string;
  readonly workspaceId: string;
  readonly token: string;
  /** Number of concurrent clients, each with a persistent connection. */
  readonly clients: number;
  readonly bytes?: number;
}

/** Clients that upload new paths one after another, as fast as they are answered. */
export class Load {
  readonly tally: Tally = { statuses: {}, stored: [], refused: 0, broken: [], withoutRetryAfter: 0 };
  private isOver = false;
  private readonly clients: Promise<void>[];
  private readonly body: Buffer;

  constructor(private readonly options: LoadOptions) {
    this.body = Buffer.alloc(options.bytes ?? 2_000, 'x');
    this.clients = Array.from({ length: options.clients }, (_, client) => this.run(client));
  }

  /** Number of answered requests. */
  get answered(): number {
    return Object.values(this.tally.statuses).reduce((sum, count) => sum + count, 0);
  }

  async stop(): Promise<Tally> {
    this.isOver = true;
    await Promise.all(this.clients);
    return this.tally;
  }

  private async run(client: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; !this.isOver; n++) {
      const path = Buffer.from(`client ${client} file ${n} ${process.hrtime.bigint()}`).toString('base64url');
      try {
        const isServed = await this.put(agent, path);
        if (!isServed) await pause(PAUSE_MS);
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code === 'ECONNREFUSED') this.tally.refused++;
        else this.tally.broken.push(message);
        await pause(PAUSE_MS);
      }
    }
    agent.destroy();
  }

  private put(agent: Agent, path: string): Promise<boolean> {
    const { url, workspaceId, token } = this.options;
    return new Promise((resolve, reject) => {
      const upload = request(`${url}/api/v1/workspaces/${workspaceId}/files/${path}`, {
        method: 'PUT',
        agent,
        headers: {
          authorization: `Bearer ${token}`,
          'content-length': this.body.length,
          'x-content-hash': sha256(this.body),
          'x-device-id': 'load',
        },
      });
      upload.on('error', (error: NodeJS.ErrnoException) => {
        error.message += upload.reusedSocket ? ' on a kept connection' : ' on a new connection';
        reject(error);
      });
      upload.on('response', (response) => {
        const { statusCode = 0, headers } = response;
        response.on('error', reject);
        response.on('end', () => {
          this.tally.statuses[statusCode] = (this.tally.statuses[statusCode] ?? 0) + 1;
          if (statusCode < 300) this.tally.stored.push(path);
          else if (headers['retry-after'] === undefined) this.tally.withoutRetryAfter++;
          resolve(statusCode < 300);
        });
        response.resume();
      });
      upload.end(this.body);
    });
  }
}
