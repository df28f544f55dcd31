import { once } from 'node:events';
import WebSocket from 'ws';
import { expectDocumented } from './async-api.js';
import { sawAnswer } from './documented-answers.js';
import { eventually } from './eventually.js';

export interface Frame {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A client's socket with all received frames, in order. */
export class TestSocket {
  readonly frames: Frame[] = [];
  closeCode: number | undefined;

  private constructor(readonly raw: WebSocket) {
    raw.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      this.frames.push(frame);
      expectDocumented(frame);
    });
    raw.on('close', (code: number) => (this.closeCode = code));
    raw.on('error', () => undefined);
  }

  /** Opened, but without a hello. */
  static async open(url: string, workspaceId: string, token: string): Promise<TestSocket> {
    const socket = new TestSocket(new WebSocket(socketUrl(url, workspaceId, token)));
    await once(socket.raw, 'open');
    sawAnswer('liveRoom.open', 101);
    return socket;
  }

  /** Opened and welcomed. */
  static async join(
    workspace: { id: string; user: { url: string; token: string } },
    deviceId: string,
    cursor = 0,
  ): Promise<TestSocket> {
    const socket = await TestSocket.open(workspace.user.url, workspace.id, workspace.user.token);
    socket.say({ type: 'hello', cursor, deviceId });
    await socket.frame('welcome');
    return socket;
  }

  say(message: unknown): void {
    this.raw.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** All received frames of a type. */
  of(type: string): Frame[] {
    return this.frames.filter((frame) => frame.type === type);
  }

  /** The n-th frame of a type; waits for it. */
  async frame(type: string, index = 0): Promise<Frame> {
    await eventually(() => expect(this.of(type).length).toBeGreaterThan(index));
    return this.of(type)[index] as Frame;
  }

  /** The close code; waits for it. */
  async closed(): Promise<number> {
    await eventually(() => expect(this.closeCode).toBeDefined());
    return this.closeCode as number;
  }

  /** Resolves when everything that the service has sent so far has arrived, because it answers in order. */
  async settled(): Promise<void> {
    const pongs = this.of('pong').length;
    this.say({ type: 'ping' });
    await this.frame('pong', pongs);
  }

  async close(): Promise<void> {
    this.raw.close();
    if (this.raw.readyState !== WebSocket.CLOSED) await once(this.raw, 'close');
  }
}

/** The address of a workspace's live room. */
export function socketUrl(url: string, workspaceId: string, token?: string): string {
  const query = token === undefined ? '' : `?token=${encodeURIComponent(token)}`;
  return `${url.replace(/^http/, 'ws')}/api/v1/workspaces/${workspaceId}/ws${query}`;
}
