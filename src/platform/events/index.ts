export type { Topic } from './bus-event.js';
export { EventBus } from './event-bus.js';
export { EventsModule } from './events.module.js';
