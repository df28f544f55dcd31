export { generateVapidKeys } from './vapid-keys.js';
export { WebPushModule } from './web-push.module.js';
export { WebPush } from './web-push.service.js';
