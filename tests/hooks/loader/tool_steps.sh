# SPDX-License-Identifier: Apache-2.0
# tool_steps.sh FOLDER OBJECT: runs typical bpftool commands and prints their output. The commands address objects by
# name where possible, and the output hides numbers, because they differ between runs.
pins=$1 object=$2
. "$(dirname "$0")/tool_words.sh"
# created TYPE KEY VALUE ENTRIES [WORD]...: creates a map and shows it
created() {
	m=$pins/$1 type=$1 key=$2 value=$3 entries=$4; shift 4
	t map create "$m" type "$type" key "$key" value "$value" entries "$entries" name "$type" "$@"
	t map show pinned "$m"; t -j map show pinned "$m"
}
# keyed: runs the element commands on a map with 4-byte keys and values
keyed() {
	t map lookup pinned "$m" key 1 0 0 0
	t map update pinned "$m" key 1 0 0 0 value 5 0 0 0 any; t map update pinned "$m" key 1 0 0 0 value 6 0 0 0 noexist
	t map update pinned "$m" key 2 0 0 0 value 7 0 0 0 noexist; t map update pinned "$m" key 2 0 0 0 value 8 0 0 0 exist
	t map update pinned "$m" key 3 0 0 0 value 8 0 0 0 exist; t map lookup pinned "$m" key 2 0 0 0; t -j map lookup pinned "$m" key 2 0 0 0
	t map getnext pinned "$m" key 255 0 0 0 > /dev/null; t map delete pinned "$m" key 1 0 0 0; t map delete pinned "$m" key 1 0 0 0
	t map dump pinned "$m"; t -j map dump pinned "$m"; t map update pinned "$m" key 255 255 255 255 value 1 0 0 0
	t map pop pinned "$m"; t map update pinned "$m" key 1 0 0 value 1 0 0 0; t map update pinned "$m" key 1 0 0 0 value 1 0 0
}
for type in array hash lru_hash; do created $type 4 4 4; keyed; done
created array 4 4 4 # fails: the pin exists already
for type in percpu_array percpu_hash lru_percpu_hash; do
	created $type 4 8 2
	t map lookup pinned "$m" key 1 0 0 0; t map delete pinned "$m" key 1 0 0 0; t map dump pinned "$m"
done
for type in queue stack; do
	created $type 0 4 3
	for i in 1 2 3 4; do t map push pinned "$m" value $i 0 0 0; done
	t map enqueue pinned "$m" value 9 0 0 0; t map peek pinned "$m"; t map pop pinned "$m"; t map dequeue pinned "$m"; t map pop pinned "$m"; t map pop pinned "$m"
	t map lookup pinned "$m" key 0 0 0 0
done
created lpm_trie 8 4 8 flags 1
for bytes in '8 0 0 0 10 0 0 0' '16 0 0 0 10 1 0 0' '24 0 0 0 10 1 2 0'; do t map update pinned "$m" key $bytes value 1 0 0 0; done
t map lookup pinned "$m" key 32 0 0 0 10 1 2 3; t map lookup pinned "$m" key 32 0 0 0 11 1 2 3; t map update pinned "$m" key 33 0 0 0 1 1 1 1 value 1 0 0 0
t map delete pinned "$m" key 16 0 0 0 10 1 0 0; t map dump pinned "$m" | sort
created bloom_filter 0 4 16
t map push pinned "$m" value 1 0 0 0; t map peek pinned "$m"; t map pop pinned "$m"
created array 4 4 4294967295; created hash 0 4 4; created hash 4 0 4; created array 8 4 4; created lpm_trie 8 4 8; created queue 4 4 4; created unheard_of 4 4 4
t map freeze pinned "$pins/hash"; t map update pinned "$pins/hash" key 9 0 0 0 value 1 0 0 0; t map show pinned "$pins/hash"
mkdir "$pins/below"; t map pin pinned "$pins/array" "$pins/below/again"; t map pin pinned "$pins/array" "$pins/below/again"
t map update pinned "$pins/below/again" key 0 0 0 0 value 77 0 0 0; t map lookup pinned "$pins/array" key 0 0 0 0
rm "$pins/array"; t map show pinned "$pins/array"; t map lookup pinned "$pins/below/again" key 0 0 0 0
t map show pinned "$pins/nowhere"; t map show id 999999999; t prog show id 999999999; t link show id 999999999; t btf dump id 999999999

t prog load "$object" "$pins/prog" pinmaps "$pins/maps"; t prog load "$object" "$pins/prog"
t prog show pinned "$pins/prog"; t -j prog show pinned "$pins/prog"
ls "$pins/maps"
t map update pinned "$pins/maps/places" key 7 0 0 0 2 0 0 0 value 9 0 0 0 0 0 0 0; t map dump pinned "$pins/maps/places"; t -j map dump pinned "$pins/maps/places"
t map lookup pinned "$pins/maps/places" key 7 0 0 0 2 0 0 0; t map getnext pinned "$pins/maps/places"
# only one map has that name
m=$pins/only; t map create "$m" type hash key 4 value 4 entries 4 name "$only"; t map show name "$only"; t -j map show name "$only"
t map update name "$only" key 7 0 0 0 value 9 0 0 0; t map lookup name "$only" key 7 0 0 0; t map dump name "$only"
t map create "$pins/other" type array key 4 value 4 entries 1 name "$only"; t map show name "$only"; t map dump name "$only" # two maps
t map show pinned "$pins/maps/places"; t btf dump map pinned "$pins/maps/places" kv; t btf dump prog pinned "$pins/prog" format c
t prog pin pinned "$pins/prog" "$pins/prog2"; rm "$pins/prog"; t prog show pinned "$pins/prog2"; t prog attach pinned "$pins/prog2" msg_verdict pinned "$pins/maps/places"
