export { BillingModule } from './billing.module.js';
export { Customers } from './customers.js';
export { PaymentEvents } from './payment-events.service.js';
export { PaymentProvider, type ProviderIds, ProviderRefusal } from './payment-provider.js';
export { EVENT_TYPES, type EventType } from './provider-event.js';
export { type SampleEvent, sampleEvent } from './sample-event.js';
export { Purchases } from './purchases.service.js';
export {
  REQUIRES_SUBSCRIPTION,
  RequiresSubscription,
  type SubscriptionRequirement,
} from './requires-subscription.js';
export { isActive } from './subscription.queries.js';
export { type Subscription, Subscriptions } from './subscriptions.service.js';
export { STATUSES, type SubscriptionStatus } from './transitions.js';
export { signatureFor } from './webhook-signature.js';
