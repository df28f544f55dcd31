import { connect, type Socket } from 'node:net';

export interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: Buffer;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const END_OF_CHUNKS = Buffer.from('\r\n0\r\n\r\n');
const NOTHING = Buffer.alloc(0);
/** The initial buffer size of a connection, and the minimum free space to read into. */
const [MEMORY, READ_AT_ONCE] = [64 * 1024, 16 * 1024];
/**
 * Node's server closes idle connections after five seconds by default, counted from the start of a long request. A request
 * in flight at that moment is lost.
 */
const LONGEST_IDLE_MS = 2_000;

/**
 * HTTP/1.1 over persistent connections with minimal overhead: the client shares the processors with the measured
 * server, and its own cost would make any two servers look alike.
 */
export class Client {
  private readonly idle: { connection: Connection; since: number }[] = [];
  private readonly port: number;

  constructor(
    url: string,
    private readonly headers: Record<string, string> = {},
  ) {
    this.port = Number(new URL(url).port);
  }

  /** Resolves with the body, which is valid only until the caller's next await. @throws for every status except 2xx */
  async send(method: string, path: string, { headers = {}, body = NOTHING }: Sent = {}): Promise<Buffer> {
    let head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${this.port}\r\ncontent-length: ${body.length}\r\n`;
    for (const [name, value] of Object.entries({ ...this.headers, ...headers }))
      head += `${name}: ${value}\r\n`;
    const connection = this.kept() ?? new Connection(this.port);
    const answer = await connection.send(`${head}\r\n`, body);
    if (connection.isOpen) this.idle.push({ connection, since: performance.now() });
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${String(answer.body)}`);
  }

  async sendJson(method: string, path: string, json: unknown): Promise<unknown> {
    const body = Buffer.from(JSON.stringify(json));
    const answer = await this.send(method, path, { headers: { 'content-type': 'application/json' }, body });
    return answer.length > 0 ? JSON.parse(answer.toString()) : undefined;
  }

  /** The most recently used connection, if it is still usable. */
  private kept(): Connection | undefined {
    for (let kept = this.idle.pop(); kept; kept = this.idle.pop()) {
      if (kept.connection.isOpen && performance.now() - kept.since < LONGEST_IDLE_MS) return kept.connection;
      kept.connection.end();
    }
    return undefined;
  }

  close(): void {
    for (const { connection } of this.idle.splice(0)) connection.end();
  }
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Handles one request at a time. Reads all responses into the same buffer, because most of the cost of new ones is garbage
 * collection.
 */
class Connection {
  isOpen = true;
  private readonly socket: Socket;
  private memory = Buffer.allocUnsafeSlow(MEMORY);
  private received = 0;
  private waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  constructor(port: number) {
    const buffer = (): Buffer => this.room();
    const callback = (length: number): boolean => {
      this.received += length;
      this.receive();
      return true; // continue reading
    };
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } });
    const { socket } = this;
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the connection was closed')));
  }

  send(head: string, body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.socket.cork();
      this.socket.write(head, 'latin1');
      if (body.length > 0) this.socket.write(body);
      this.socket.uncork();
    });
  }

  end(): void {
    this.socket.destroy();
  }

  private room(): Buffer {
    if (this.memory.length - this.received < READ_AT_ONCE) {
      const larger = Buffer.allocUnsafeSlow(2 * this.memory.length);
      this.memory.copy(larger, 0, 0, this.received);
      this.memory = larger;
    }
    return this.memory.subarray(this.received);
  }

  private receive(): void {
    const answer = parsed(this.memory.subarray(0, this.received));
    if (!answer) return;
    this.received = 0;
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.resolve(answer);
  }

  private fail(error: Error): void {
    this.isOpen = false;
    this.waiting?.reject(error);
    this.waiting = undefined;
  }
}

/** Undefined while the response is incomplete. */
function parsed(received: Buffer): Answer | undefined {
  const endOfHead = received.indexOf(END_OF_HEAD);
  if (endOfHead < 0) return undefined;
  const head = received.toString('latin1', 0, endOfHead + 2);
  const status = Number(head.slice(9, 12));
  const body = received.subarray(endOfHead + END_OF_HEAD.length);
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
  if (length !== undefined) return body.length < Number(length) ? undefined : { status, body };
  if (!/\r\ntransfer-encoding: *chunked\r\n/i.test(head)) return { status, body: NOTHING };
  const isWhole =
    body.subarray(-END_OF_CHUNKS.length).equals(END_OF_CHUNKS) || body.equals(END_OF_CHUNKS.subarray(2));
  return isWhole ? { status, body: unchunked(body) } : undefined;
}

function unchunked(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const endOfSize = body.indexOf('\r\n', at);
    const size = parseInt(body.toString('latin1', at, endOfSize), 16);
    if (size === 0) return Buffer.concat(parts);
    parts.push(body.subarray(endOfSize + 2, endOfSize + 2 + size));
    at = endOfSize + 2 + size + 2;
  }
}
