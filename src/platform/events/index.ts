export { type BusEvent, EventBus, type Listener } from './event-bus.js';
export { EventsModule } from './events.module.js';
