export type { Topic } from './event-carrier.js';
export { EventBus } from './event-bus.js';
export { EventsModule } from './events.module.js';
