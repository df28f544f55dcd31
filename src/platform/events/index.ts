export type { BusEvent } from './bus-event.js';
export { EventBus, type Listener } from './event-bus.js';
export { EventsModule } from './events.module.js';
