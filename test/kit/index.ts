export { begunRequest } from './begun-request.js';
export { createDatabase, type TestDatabase } from './database.js';
export { BASE_URL, DEV_LOGIN_KEY, type ServiceOptions, startService, type TestService } from './service.js';
export { eventually } from './eventually.js';
export { type Held, holdRow, holdTable } from './hold.js';
export { stopIntervals } from './intervals.js';
export { type Frame, socketUrl, TestSocket } from './socket.js';
export { TestUser } from './user.js';
export {
  bytes,
  type ListedCheckpoint,
  type ListedVersion,
  type PulledChange,
  sha256,
  TestWorkspace,
} from './workspace.js';
