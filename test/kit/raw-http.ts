import { connect, type Socket } from 'node:net';
import { sha256, type TestWorkspace } from './workspace.js';

/** An answer as received. Header names are in lower case. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RawRequest {
  readonly method: string;
  /** Sent verbatim: an HTTP client would normalize `.` and `%2F`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends one request on its own connection, with headers and a path that an HTTP client would refuse. */
export function sendRaw(
  url: string,
  { method, path, headers = {}, body = '' }: RawRequest,
): Promise<RawAnswer> {
  const bytes = Buffer.from(body);
  const all = {
    Host: new URL(url).host,
    Connection: 'close',
    'Content-Length': String(bytes.length),
    ...headers,
  };
  return exchange(url, Buffer.concat([headOf(method, path, all), bytes]));
}

/** Sends bytes that may not be HTTP, and reads until the server closes. */
export async function exchange(url: string, bytes: Buffer | string): Promise<RawAnswer> {
  const socket = openSocket(url);
  socket.write(bytes);
  return answerOf(await received(socket));
}

export function openSocket(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port) });
}

/** Half of an upload that is large enough for the blob store. The caller destroys the socket. */
export function unfinishedUpload(url: string, workspace: TestWorkspace, path: string): Socket {
  const socket = openSocket(url);
  const Authorization = `Bearer ${workspace.user.token}`;
  const headers = { Host: 'x', Authorization, 'X-Content-Hash': sha256(''), 'X-Device-Id': 'slow' };
  socket.write(headOf('PUT', workspace.file(path), { ...headers, 'Content-Length': '200000' }));
  socket.write(Buffer.alloc(100_000));
  return socket;
}

/** The head of a request, in latin1, so that a header can contain any byte. */
export function headOf(method: string, path: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}

/** Reads until the connection ends; a reset ends it too. */
export function received(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(Buffer.concat(chunks)));
  });
}

/** The head of the first answer, and the body bytes that came with it, while the connection stays open. */
export async function earlyAnswer(socket: Socket): Promise<RawAnswer> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.includes('\r\n\r\n')) break;
  }
  return answerOf(bytes);
}

/** The first answer of a connection; skips an interim 100. */
export function answerOf(bytes: Buffer): RawAnswer {
  const text = bytes.toString('latin1').replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, Math.max(end, 0)).split('\r\n');
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ]);
  return {
    status: Number(statusLine.split(' ')[1] ?? 0),
    headers: Object.fromEntries(headers),
    body: text.slice(end + 4),
  };
}
