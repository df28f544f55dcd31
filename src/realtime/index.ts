export { CloseCode } from './close-codes.js';
export { Doorkeeper } from './doorkeeper.js';
export { RealtimeModule } from './realtime.module.js';
export { SocketAdapter } from './socket-adapter.js';
