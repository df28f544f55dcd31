export {
  NotPublic,
  Outbound,
  type OutboundOptions,
  type OutboundResponse,
  parsePublicUrl,
} from './outbound.js';
export { OutboundModule } from './outbound.module.js';
