import WebSocket from 'ws';
import { LiveRoom, type LiveRoomOptions } from '../../client/src/core/index.js';

/** Listens for changes by other devices. */
export class Ear {
  private hasNews = false;
  private wake: () => void = () => undefined;
  private readonly room: LiveRoom;

  private constructor(options: Omit<LiveRoomOptions, 'onNews' | 'WebSocket'>) {
    const onNews = (what: string): void => {
      if (what !== 'changes') return;
      this.hasNews = true;
      this.wake();
    };
    this.room = new LiveRoom({ ...options, WebSocket, onNews });
  }

  /** Resolves once every later change will be announced. */
  static async open(options: Omit<LiveRoomOptions, 'onNews' | 'WebSocket'>): Promise<Ear> {
    const ear = new Ear(options);
    await ear.news(); // covers changes before the connection
    return ear;
  }

  /** Resolves when there may be something to sync that no earlier call has reported. @throws LiveRoomClosed */
  async news(): Promise<void> {
    const heard = new Promise<void>((resolve) => (this.wake = resolve));
    if (!this.hasNews) await Promise.race([heard, this.room.closed]);
    this.hasNews = false;
  }

  close(): Promise<void> {
    return this.room.close();
  }
}
