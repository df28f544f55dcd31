export { StoredSubscription } from './push-subscription.entity.js';
export { WebPushModule } from './web-push.module.js';
export { generateVapidKeys, WebPush } from './web-push.service.js';
