import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as http,
  type RequestOptions,
} from 'node:http';
import { request as https } from 'node:https';
import type { Socket } from 'node:net';
import { type Failed, S3Timeout } from './s3-fault.js';

/** How long a request may take, in ms. */
export interface S3Limits {
  /** Until there is a connection. */
  connectMs: number;
  /** Without a byte going or coming. */
  idleMs: number;
  /** A whole call, from the first byte to the last, its second attempt included; a download's body is not counted. */
  callMs: number;
  /** What is done about a call that has failed, while somebody waits for the answer. */
  cleanUpMs: number;
  /** Before the second attempt. */
  pauseMs: number;
}

type OnResponse = (response: IncomingMessage) => void;

/**
 * One request of the client, bounded in time: the client itself has no limit and would wait for ever. It also keeps
 * what the client does not tell: whether anything was sent, and what was answered.
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

  /** What the client takes for node:http or node:https. */
  readonly transport = {
    request: (options: RequestOptions, onResponse: OnResponse): ClientRequest =>
      this.start(options, onResponse),
  };

  /** Rejects when the time is over; `settle` stops the clock. */
  expiry(ms: number): Promise<never> {
    return new Promise((_, reject) => {
      this.timer = setTimeout(() => reject(this.end(`no answer within ${ms} ms`)), ms);
    });
  }

  settle(): void {
    clearTimeout(this.timer);
  }

  /** Closes the connection: an answer that nobody has read must not wait in it. */
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
      request.setTimeout(0); // from here on the reader may be slow, and has limits of its own
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
