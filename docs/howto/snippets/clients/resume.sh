# Print each event of a turn once, over broken connections and restarts:
# sh resume.sh http://127.0.0.1:8000/sessions/ses_…/turns/trn_…
last=0
while [ "$last" != ended ]; do
  last=$(
    {
      curl -sS --no-buffer --fail -H "Last-Event-ID: $last" "$1/events"
      echo "over: $?"
    } | {
      id= data= type=
      while IFS= read -r line; do
        case $line in
          "id: "*) id=${line#id: } ;;
          "event: "*) type=${line#event: } ;;
          "data: "*) data=${line#data: } ;;
          "") # the event has come whole
            [ -z "$data" ] || printf '%s\n' "$data" >&3
            last=${id:-$last}
            [ "$type" != turn_finished ] || last=ended
            id= data= type= ;;
          "over: 22") last=ended ;; # it was refused
        esac
      done
      echo "$last"
    }
  ) 3>&1
  [ "$last" = ended ] || sleep 2
done
