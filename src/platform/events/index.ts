export { EventBus } from './event-bus.js';
export { EventsModule } from './events.module.js';
