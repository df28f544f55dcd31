import WebSocket from 'ws';
import { LiveRoom, LiveRoomClosed, type LiveRoomOptions } from '../../core/index.js';

const AGAIN_MS = 300_000;
/** For the answer to a close: a link that swallows everything must not keep a process that has ended. */
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
  /** Connecting again would change nothing. */
  readonly onEnd: (error: LiveRoomClosed) => void;
};

/** The live room of a workspace, as long as the folder is watched. What may pass is tried again. */
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
