export { BillingModule } from './billing.module.js';
export { RequiresSubscription, SubscriptionGuard } from './subscription.guard.js';
export {
  STATUSES,
  type Subscription,
  Subscriptions,
  type SubscriptionStatus,
} from './subscriptions.service.js';
