import {
  type Agent,
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as http,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as https } from 'node:https';
import { type BucketItem, Client } from 'minio';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Failed, S3Fault, S3Timeout } from './s3-fault.js';

/** Time limits of a request, in ms. */
export interface S3Limits {
  /** Until the connection is established. */
  connectMs: number;
  /** Without a byte sent or received. */
  idleMs: number;
  /** A whole call, from the first byte to the last, including its second attempt; excludes the body of a download. */
  callMs: number;
  /** Cleaning up after a failed call while a client waits for the response. */
  cleanUpMs: number;
  /** Before the second attempt. */
  pauseMs: number;
}

type OnResponse = (response: IncomingMessage) => void;

/**
 * One request of the S3 client, limited in time: the client itself has no limit and would wait forever. Also records what the
 * client does not expose: whether anything was sent, and the response.
 */
export class BoundedRequest implements Failed {
  status: number | undefined;
  wasSent = false;
  response: IncomingMessage | undefined;
  private request: ClientRequest | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly agent: Agent,
    private readonly limits: S3Limits,
  ) {}

  /** Replaces node:http or node:https in the client. */
  readonly transport = {
    request: (options: RequestOptions, onResponse: OnResponse): ClientRequest =>
      this.start(options, onResponse),
  };

  /** Rejects when the time is over; `settle` stops the timer. */
  expiry(ms: number): Promise<never> {
    return new Promise((_, reject) => {
      this.timer = setTimeout(() => reject(this.end(`no answer within ${ms} ms`)), ms);
    });
  }

  settle(): void {
    clearTimeout(this.timer);
  }

  /** Closes the connection, which must not hold an unread response. */
  abandon(): void {
    this.request?.destroy();
  }

  private start(options: RequestOptions, onResponse: OnResponse): ClientRequest {
    const begin = options.protocol === 'https:' ? https : http;
    const request = begin({ ...options, agent: this.agent });
    this.request = request;
    request.setTimeout(this.limits.idleMs, () => this.end('the connection is silent'));
    request.once('socket', (socket) => this.watch(request, socket));
    request.once('response', (response) => {
      this.status = response.statusCode;
      this.response = response;
      request.setTimeout(0); // from here on, a reader may be slow, and has its own limits
      onResponse(response);
    });
    return request;
  }

  private watch(request: ClientRequest, socket: Socket): void {
    if (!socket.connecting) {
      this.wasSent = true;
      return;
    }
    const timer = setTimeout(() => this.end('no connection'), this.limits.connectMs);
    request.once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      this.wasSent = true;
    });
  }

  private end(reason: string): S3Timeout {
    const error = new S3Timeout(reason);
    this.request?.destroy(error);
    return error;
  }
}

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
  async call<T>(work: S3Call<T>, ms = this.limits.callMs): Promise<T> {
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

  /**
   * Sends a request, and once more if a retry may help: only for idempotent requests.
   * @throws S3Fault
   */
  async retried<T>(work: S3Call<T>): Promise<T> {
    const { callMs, pauseMs } = this.limits;
    const end = performance.now() + callMs;
    try {
      return await this.call(work, callMs);
    } catch (error) {
      const left = end - performance.now() - pauseMs;
      if (!(error instanceof S3Fault) || !error.isCurable || left <= 0) throw error;
      await pause(pauseMs);
      return this.call(work, left);
    }
  }

  /** Creates the bucket unless it exists. @throws S3Fault */
  async makeBucket(): Promise<void> {
    const { bucket, settings } = this;
    if (await this.retried((client) => client.bucketExists(bucket))) return;
    // Another process may create it at the same time.
    await this.call((client) => client.makeBucket(bucket, settings.region)).catch(
      unless(({ code }) => code === 'BucketAlreadyOwnedByYou'),
    );
  }

  /** In bytes; undefined when there is no such object. @throws S3Fault */
  async sizeOf(key: string): Promise<number | undefined> {
    const found = await this.retried((client) => client.statObject(this.bucket, key)).catch(
      unless(({ isAbsent }) => isAbsent),
    );
    return found?.size;
  }

  /**
   * The objects below a prefix, page by page.
   * @param delimiter ends the names that objects have in common; a page has each such name once, as the prefix of an item
   * @throws S3Fault
   */
  async *list(prefix: string, delimiter = ''): AsyncGenerator<BucketItem[]> {
    for (let token: string | undefined = ''; token !== undefined;) {
      const from: string = token;
      const page = await this.retried((client) =>
        client.listObjectsV2Query(this.bucket, prefix, from, delimiter, PAGE, ''),
      );
      yield page.objects;
      token = (page.isTruncated && page.nextContinuationToken) || undefined;
    }
  }

  /** The unfinished uploads below a prefix: they use space and do not appear in listings of objects. @throws S3Fault */
  async *uploads(prefix: string): AsyncGenerator<UnfinishedUpload> {
    for (let marker: string | undefined = ''; marker !== undefined;) {
      const from: string = marker;
      const page = await this.retried((client) =>
        client.listIncompleteUploadsQuery(this.bucket, prefix, from, '', ''),
      );
      yield* page.uploads;
      marker = (page.isTruncated && page.nextKeyMarker) || undefined;
    }
  }

  /** Does nothing when it has ended: another process, or an earlier attempt of this one, may have been faster. */
  async abortUpload({ key, uploadId }: UnfinishedUpload): Promise<void> {
    await this.retried((client) => client.abortMultipartUpload(this.bucket, key, uploadId)).catch(
      unless(({ code, isAbsent }) => code === 'NoSuchUpload' || isAbsent),
    );
  }

  close(): void {
    this.agent.destroy();
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

const PAGE = 1000;

interface UnfinishedUpload {
  readonly key: string;
  readonly uploadId: string;
  readonly initiated: Date;
}

/** Handles the faults that say that there is nothing to do. */
const unless =
  (isMeant: (fault: S3Fault) => boolean) =>
  (error: unknown): undefined => {
    if (!(error instanceof S3Fault && isMeant(error))) throw error;
  };

/** For background work. A part of 32 MiB may take five minutes. */
const PATIENT_LIMITS: S3Limits = {
  connectMs: 5_000,
  idleMs: 30_000,
  callMs: 300_000,
  cleanUpMs: 10_000,
  pauseMs: 500,
};

const LONGEST_PAUSE_MS = 15_000;

/** How long a store may be unavailable. Tests shorten it. */
export const PATIENCE = { ms: 180_000 };

/**
 * A connection that repeats any request while a store that has answered before does not answer, so that a restart or a busy
 * minute of the store does not abort hours of work. Each key must have a single writer and be written only once.
 */
export class PatientS3Connection extends S3Connection {
  override readonly limits: S3Limits = { ...PATIENT_LIMITS };
  private readonly faults = new WeakSet();
  private hasAnswered = false;

  /** Whether an error comes from this store, and not from the source of the data to store. */
  isOwn(fault: S3Fault): boolean {
    return this.faults.has(fault);
  }

  override call<T>(work: S3Call<T>, ms?: number): Promise<T> {
    return ms === undefined ? this.retried(work) : this.attempt(work, ms);
  }

  override async retried<T>(work: S3Call<T>): Promise<T> {
    const end = performance.now() + PATIENCE.ms;
    for (let pauseMs = this.limits.pauseMs; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await this.attempt(work, this.limits.callMs);
      } catch (error) {
        const isHopeless = !(error instanceof S3Fault) || !error.isCurable || !this.hasAnswered;
        if (isHopeless || performance.now() + pauseMs > end) throw error;
      }
      await pause(pauseMs);
    }
  }

  private async attempt<T>(work: S3Call<T>, ms: number): Promise<T> {
    try {
      const result = await super.call(work, ms);
      this.hasAnswered = true;
      return result;
    } catch (error) {
      if (error instanceof S3Fault) {
        this.faults.add(error);
        this.hasAnswered ||= !error.isCurable;
      }
      throw error;
    }
  }
}
