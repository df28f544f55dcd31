export { Outbound, type OutboundOptions, type OutboundResponse } from './outbound.js';
export { OutboundModule } from './outbound.module.js';
export { NotPublic, parsePublicUrl } from './public-url.js';
