#!/usr/bin/env bash
# An S3 server for tests: Ceph's gateway with one monitor and one in-memory store, on the loopback interface. Its data is
# lost when it exits. PATH and LD_LIBRARY_PATH point to the programs that scripts/test-servers.sh has unpacked.
#
#   scripts/s3-server.sh DIRECTORY PORT ACCESS_KEY SECRET_KEY
#
# DIRECTORY must be empty and its path short, because it contains sockets. Uses PORT (S3) and the nine ports above it.
# Prints "ready" when the gateway responds. Reads commands: "kill" kills the gateway like a crash ("killed"), "start"
# restarts it ("ready"). Exits with everything that it has started when its standard input ends.
set -euo pipefail

dir=$1 port=$2 access_key=$3 secret_key=$4
prefix=${TEST_SERVERS_DIR:?}
libraries=$(dirname "$(find "$prefix/usr/lib" -path '*/ceph/libceph-common.so.2')")
export CEPH_CONF=$dir/ceph.conf CEPH_ARGS='' PYTHONPATH=$prefix/usr/lib/python3/dist-packages
ulimit -n "$(ulimit -Hn)" || true

declare -A pids
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; wait' EXIT

run() { # NAME COMMAND...
  local name=$1
  shift
  "$@" </dev/null >>"$dir/$name.log" 2>&1 &
  pids[$name]=$!
}

wait_for() { # NAME COMMAND...: waits until the command succeeds; fails when the program exits, or after a minute
  local name=$1
  shift
  for _ in $(seq 600); do
    if timeout 20 "$@" >/dev/null 2>&1; then return; fi
    if ! kill -0 "${pids[$name]}" 2>/dev/null; then break; fi
    sleep 0.1
  done
  echo "$name did not start:" >&2
  tail -n 5 "$dir/$name.log" >&2
  exit 1
}

cat >"$CEPH_CONF" <<CONF
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon_host = v2:127.0.0.1:$((port + 1))
mon_initial_members = a
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_port_min = $((port + 2))
ms_bind_port_max = $((port + 9))
ms_bind_msgr1 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
run_dir = $dir
admin_socket =
crash_dir = $dir
keyring = $dir/keyring
mon_data = $dir/mon
osd_data = $dir/osd
plugin_dir = $libraries
erasure_code_dir = $libraries/erasure-code
osd_class_dir = $(dirname "$libraries")/rados-classes
log_file =
mon_cluster_log_file = $dir/cluster.log
mon_data_avail_crit = 1
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 500
paxos_propose_interval = 0.1
paxos_min_wait = 0.02
osd_objectstore = memstore
memstore_device_bytes = $((8 << 30))
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_max_scrubs = 0
rgw_frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw_thread_pool_size = 64
rgw_enable_apis = s3, admin
rgw_rados_pool_pg_num_min = 4
rgw_num_control_oids = 1
rgw_override_bucket_index_max_shards = 1
rgw_dynamic_resharding = false
rgw_run_sync_thread = false
rgw_gc_obj_min_wait = 5
rgw_gc_processor_period = 10
CONF
mkdir "$dir/mon" "$dir/osd"

ceph-authtool --create-keyring "$dir/keyring" --gen-key -n mon. --cap mon 'allow *' >/dev/null
ceph-authtool "$dir/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' >/dev/null
fsid=$(sed -n 's/^fsid = //p' "$CEPH_CONF")
monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$((port + 1))]" "$dir/monmap" >/dev/null
ceph-mon --mkfs -i a --monmap "$dir/monmap" --keyring "$dir/keyring" >>"$dir/mon.log" 2>&1
run mon ceph-mon -f -i a
wait_for mon ceph mon stat

osd=$(cat /proc/sys/kernel/random/uuid)
ceph osd new "$osd" >/dev/null
ceph-osd --mkfs -i 0 --osd-uuid "$osd" >>"$dir/osd.log" 2>&1
run osd ceph-osd -f -i 0
wait_for osd sh -c "ceph osd stat | grep -q '1 up'"

radosgw-admin user create --uid tests --display-name tests --no-mon-config \
  --access-key "$access_key" --secret-key "$secret_key" >/dev/null 2>>"$dir/user.log"

start_gateway() {
  run gateway radosgw -f -n client.admin --no-mon-config
  wait_for gateway bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
  echo ready
}

# Ceph waits half a minute for answers of a killed gateway, which would delay every new bucket.
forget_gateway() {
  local watcher
  for watcher in $(rados -p default.rgw.control listwatchers notify.0 | sed -n 's/^watcher=\([^ ]*\) .*/\1/p'); do
    ceph osd blocklist add "$watcher" 60 >/dev/null 2>&1
  done
}

start_gateway
while read -r command; do
  case $command in
    kill)
      kill -9 "${pids[gateway]}"
      wait "${pids[gateway]}" 2>/dev/null || true
      echo killed
      ;;
    start)
      forget_gateway
      start_gateway
      ;;
  esac
done
