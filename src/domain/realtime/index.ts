export { UpgradeAuthorizer } from './upgrade-authorizer.js';
export { RealtimeModule } from './realtime.module.js';
export { SocketAdapter } from './socket-adapter.js';
