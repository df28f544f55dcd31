import { IncomingMessage } from 'node:http';
import { noteComplete } from './pipelining.js';

/**
 * A request that is an upgrade only when it asks for a WebSocket. Node hands every request with an `Upgrade` header to
 * the one listener there is for them; an offer of h2c, as some HTTP clients make with every request, is to be ignored.
 */
export class UpgradableRequest extends IncomingMessage {
  private isUpgrade = false;

  get upgrade(): boolean {
    const isWebSocket = this.headers.upgrade?.toLowerCase() === 'websocket';
    return this.isUpgrade && (isWebSocket || this.method === 'CONNECT');
  }

  set upgrade(isUpgrade: boolean) {
    this.isUpgrade = isUpgrade;
  }

  /** Node.js pushes null when it has parsed the last byte. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (chunk === null) noteComplete(this);
    return super.push(chunk, encoding);
  }
}
