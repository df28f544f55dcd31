import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth/index.js';
import { PaymentCustomer, PaymentEventEntity, SubscriptionEntity } from './billing.entities.js';
import { PaymentEvents } from './payment-events.service.js';
import { PaymentProvider } from './payment-provider.js';
import { Customers, Purchases } from './purchases.service.js';
import { SubscriptionController } from './subscription.controller.js';
import { Subscriptions } from './subscriptions.service.js';
import { WebhookController, WebhookSignature } from './webhook.controller.js';

export { PaymentEventEntity } from './billing.entities.js';
export { PaymentEvents } from './payment-events.service.js';
export { PaymentProvider, ProviderRefusal } from './payment-provider.js';
export { EVENT_TYPES, type EventType, type SampleEvent, sampleEvent } from './provider-event.js';
export { Customers, Purchases } from './purchases.service.js';
export { type Subscription, type SubscriptionDetails, Subscriptions } from './subscriptions.service.js';
export { STATUSES, type SubscriptionStatus } from './subscription-state.js';
export { signatureFor } from './webhook.controller.js';

@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([PaymentCustomer, PaymentEventEntity, SubscriptionEntity])],
  controllers: [SubscriptionController, WebhookController],
  providers: [Subscriptions, PaymentEvents, WebhookSignature, PaymentProvider, Customers, Purchases],
  exports: [Subscriptions, PaymentEvents, PaymentProvider, Purchases, Customers],
})
export class BillingModule {}
