export { LiveRoom, LiveRoomClosed, type LiveRoomOptions } from './live-room.js';
export type { Socket, SocketConstructor, SocketTimes } from './socket.js';
