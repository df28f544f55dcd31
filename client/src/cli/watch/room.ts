import WebSocket from 'ws';
import { LiveRoom, LiveRoomClosed, type LiveRoomOptions } from '../../core/index.js';

const AGAIN_MS = 300_000;
/** Wait for the other side's close frame: a dead link must not keep the process alive. */
const CLOSING_MS = 1_000;

class EndingSocket extends WebSocket {
  override close(): void {
    super.close();
    setTimeout(() => this.terminate(), CLOSING_MS).unref();
  }
}

export type RoomOptions = Pick<
  LiveRoomOptions,
  'session' | 'workspaceId' | 'deviceId' | 'cursor' | 'onConnected'
> & {
  readonly onNews: () => void;
  /** Called when the room closes for a reason that reconnecting does not change. */
  readonly onEnd: (error: LiveRoomClosed) => void;
};

/** The live room of a workspace while the folder is watched. After it has closed, tries again in five minutes. */
export class Room {
  private room: LiveRoom | undefined;
  private again: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: RoomOptions) {
    this.open();
  }

  wake(): void {
    this.room?.wake();
  }

  async close(): Promise<void> {
    clearTimeout(this.again);
    await this.room?.close();
    clearTimeout(this.again);
  }

  private open(): void {
    const { onNews, onEnd, ...options } = this.options;
    const room = new LiveRoom({
      ...options,
      WebSocket: EndingSocket,
      onNews: (what) => what === 'changes' && onNews(),
    });
    this.room = room;
    room.closed.catch((error: unknown) => {
      if (!(error instanceof LiveRoomClosed)) throw error;
      onEnd(error);
      this.again = setTimeout(() => this.open(), AGAIN_MS);
    });
  }
}
