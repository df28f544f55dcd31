export { DEVICE_ID, DEVICE_ID_RULE, deviceIdOf, isDeviceId } from './device-id.js';
export { DevicesModule } from './devices.module.js';
export { Device } from './device.entity.js';
export { Devices } from './devices.service.js';
