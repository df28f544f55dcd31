export { type KeySlot, type KeySlotList, KeySlots } from './key-slots.service.js';
export { WRAPPED_KEY } from './key-slots.queries.js';
export { KeySlotsModule } from './key-slots.module.js';
