import { IncomingMessage } from 'node:http';

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
}
