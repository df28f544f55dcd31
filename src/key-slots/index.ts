export {
  KEY_SLOT_KINDS,
  type KeySlot,
  type KeySlotKind,
  type KeySlotList,
  KeySlots,
} from './key-slots.service.js';
export { KeySlotsModule } from './key-slots.module.js';
