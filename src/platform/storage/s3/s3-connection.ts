import { Client } from 'minio';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { BoundedRequest, type S3Limits } from './bounded-request.js';
import { S3Fault } from './s3-fault.js';

export interface S3Settings {
  /** An origin, such as https://s3.example.org. */
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly bucket: string;
  readonly region: string;
}

/** Less than half a minute in total, whatever the server does. */
const LIMITS: S3Limits = { connectMs: 3_000, idleMs: 8_000, callMs: 20_000, cleanUpMs: 3_000, pauseMs: 200 };

/** Servers close idle connections, and a request sent at that moment has an unknown outcome: so the client closes first. */
const KEPT_IDLE_MS = 4_000;

/** One call of the client, on a connection that is kept alive. */
export type S3Call<T> = (client: Client, request: BoundedRequest) => Promise<T>;

/** Access to one bucket of an S3 store: every call has time limits and fails with an S3Fault. */
export class S3Connection {
  readonly bucket: string;
  /** Tests shorten them. */
  readonly limits: S3Limits = { ...LIMITS };
  private readonly agent: HttpAgent;

  constructor(private readonly settings: S3Settings) {
    this.bucket = settings.bucket;
    const Agent = this.url.protocol === 'https:' ? HttpsAgent : HttpAgent;
    this.agent = new Agent({ keepAlive: true, timeout: KEPT_IDLE_MS });
  }

  private get url(): URL {
    return new URL(this.settings.endpoint);
  }

  /** For messages: excludes credentials that a URL may have before the host. */
  get host(): string {
    return this.url.host;
  }

  /**
   * Sends a request once.
   * @param ms its time limit
   * @throws S3Fault
   */
  call<T>(work: S3Call<T>, ms = this.limits.callMs): Promise<T> {
    return this.once(work, ms);
  }

  /**
   * Sends a request, and once more if a retry may help: only for idempotent requests.
   * @throws S3Fault
   */
  async retried<T>(work: S3Call<T>): Promise<T> {
    const { callMs, pauseMs } = this.limits;
    const end = performance.now() + callMs;
    try {
      return await this.once(work, callMs);
    } catch (error) {
      const left = end - performance.now() - pauseMs;
      if (!(error instanceof S3Fault) || !error.isCurable || left <= 0) throw error;
      await pause(pauseMs);
      return this.once(work, left);
    }
  }

  close(): void {
    this.agent.destroy();
  }

  protected async once<T>(work: S3Call<T>, ms: number): Promise<T> {
    const request = new BoundedRequest(this.agent, this.limits);
    try {
      return await Promise.race([work(this.clientOver(request), request), request.expiry(ms)]);
    } catch (error) {
      request.abandon();
      throw new S3Fault(error, request);
    } finally {
      request.settle();
    }
  }

  private clientOver({ transport }: BoundedRequest): Client {
    const { accessKey, secretKey, region } = this.settings;
    const { hostname, port, protocol } = this.url;
    return new Client({
      endPoint: hostname.replace(/^\[|\]$/g, ''),
      ...(port && { port: Number(port) }),
      useSSL: protocol === 'https:',
      accessKey,
      secretKey,
      region,
      transport: transport as unknown as typeof import('node:http'),
      retryOptions: { disableRetry: true }, // this class decides what to retry, and when
    });
  }
}
