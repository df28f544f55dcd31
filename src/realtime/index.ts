export { Doorkeeper } from './doorkeeper.js';
export { RealtimeModule } from './realtime.module.js';
export { SocketAdapter } from './socket-adapter.js';
