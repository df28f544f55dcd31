import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import WebSocket from 'ws';
import { sourceOf, urlFor } from './network.js';
import { json } from './peer.js';
import { sha256, type User } from './user.js';

/** A turn is one upload, one pull, downloads of the other device's uploads, and sometimes another action. */
const TURN_MS = 500;
const PATHS = 60;
/** A user has two devices, and may open ten key sessions a minute; a lower value would get 429 in long phases. */
const DEEDS_EVERY = 4;
/** Sizes of notes; every 25th note is too large to be stored in PostgreSQL. */
const [SMALL, LARGE] = [[200, 8_000] as const, 100_000];
const WELCOMED_WITHIN_MS = 10_000;

interface Change {
  readonly encryptedPath: string;
  readonly action: string;
}

/** A device of an ordinary user. Edits its own notes, learns of the other device's notes over its socket, and downloads them. */
export class Device {
  private cursor = 0;
  private turns: number;
  private readonly toFetch = new Set<string>();
  private socket: WebSocket | undefined;
  private isOver = false;

  constructor(
    private readonly user: User,
    private readonly index: number,
  ) {
    this.turns = user.n * 2 + index * 3; // so that devices do different things at a time
  }

  get id(): string {
    return `device-${this.index}`;
  }

  async run(): Promise<void> {
    await pause(randomInt(TURN_MS));
    while (!this.isOver) {
      const began = performance.now();
      if (this.socket?.readyState !== WebSocket.OPEN) await this.listen();
      await this.upload();
      await this.pull();
      await this.download();
      if (++this.turns % DEEDS_EVERY === 0) await this.user.sometimes(this.turns / DEEDS_EVERY);
      await pause(Math.max(0, TURN_MS * (0.75 + Math.random() / 2) - (performance.now() - began)));
    }
    this.socket?.terminate();
  }

  /** Stops the device after the current turn. */
  end(): void {
    this.isOver = true;
  }

  /** Opens the socket. A closed socket, or one that is still not open, is replaced at the next turn. */
  private async listen(): Promise<void> {
    const { user } = this;
    if (this.socket?.readyState === WebSocket.CONNECTING) {
      this.socket.removeAllListeners('close'); // it is slow, not lost
      this.socket.terminate(); // otherwise it would open later and stay open
    }
    const { localAddress, headers } = sourceOf(user.target, 'user', user.n);
    const url = `${urlFor(user.target, user.n).replace('http', 'ws')}${user.path}/ws?token=${user.bearer}`;
    const socket = new WebSocket(url, { localAddress, headers, perMessageDeflate: false });
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('close', (code) => this.isOver || user.ledger.lostSocket(code));
    socket.on('message', (data: Buffer) => this.hear(data));
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'hello', cursor: this.cursor, deviceId: this.id })),
    );
    await Promise.race([once(socket, 'message').catch(() => undefined), pause(WELCOMED_WITHIN_MS)]);
  }

  private hear(data: Buffer): void {
    const message = JSON.parse(data.toString()) as { type: string; changes?: Change[] };
    if (message.type !== 'changes') return;
    this.user.ledger.heardOf(message.changes?.length ?? 0);
    for (const { encryptedPath } of message.changes ?? []) this.toFetch.add(encryptedPath);
  }

  private async upload(): Promise<void> {
    const path = Buffer.from(`${this.id} note ${this.turns % PATHS}`).toString('base64url');
    const body = randomBytes(this.turns % 25 === 0 ? LARGE : randomInt(...SMALL));
    const hash = sha256(body);
    const its = this.user.uploads.get(path) ?? [];
    this.user.uploads.set(path, its);
    const upload = { hash, isAcknowledged: false };
    its.push(upload);
    const { status } = await this.user.put(path, body, this.id);
    upload.isAcknowledged = status === 200 || status === 201;
  }

  private async pull(): Promise<void> {
    const answer = await this.user.pull(this.id, this.cursor);
    if (answer.status === 200) this.cursor = json<{ cursor: number }>(answer).cursor;
  }

  private async download(): Promise<void> {
    for (const path of [...this.toFetch].slice(0, 3)) {
      const answer = await this.user.ask('get', 'GET', `${this.user.path}/files/${path}`);
      if (answer.status !== 200) return;
      this.toFetch.delete(path);
      if (answer.headers.etag !== `"${sha256(answer.body)}"`)
        throw new Error(`${path} does not match its ETag`);
    }
  }
}
