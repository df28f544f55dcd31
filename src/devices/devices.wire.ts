import type { Device } from './devices.service.js';

/** The list is snake_case, creation is camelCase: the contract has it so. */
export interface DeviceWire {
  id: string;
  name: string;
  platform: string;
  last_seen_at: string | null;
  created_at: string;
}

export interface CreatedDeviceWire {
  id: string;
  userId: string;
  name: string;
  platform: string;
}

export function deviceWire(device: Device): DeviceWire {
  return {
    id: device.id,
    name: device.name,
    platform: device.platform,
    last_seen_at: device.lastSeenAt?.toISOString() ?? null,
    created_at: device.createdAt.toISOString(),
  };
}

export function createdDeviceWire(userId: string, { id, name, platform }: Device): CreatedDeviceWire {
  return { id, userId, name, platform };
}
