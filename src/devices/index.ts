export { DEVICE_ID, DEVICE_ID_RULE, deviceIdOf, isDeviceId } from './device-id.js';
export { DevicesModule } from './devices.module.js';
export { type Device, Devices } from './devices.service.js';
export { OwedUnsubscriptions } from './owed-unsubscriptions.js';
