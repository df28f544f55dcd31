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

  /** Closes the connection: it must not hold a response that nobody reads. */
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
