export { Outbound, type OutboundOptions, type Receipt } from './outbound.js';
export { OutboundModule } from './outbound.module.js';
export { NotPublic, parsePublicUrl } from './public-url.js';
